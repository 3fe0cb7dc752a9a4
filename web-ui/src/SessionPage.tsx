import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, ask, ApiError } from "./api/client";
import { useCompactions } from "./api/useCompactions";
import { usePages } from "./api/usePages";
import { useSession } from "./api/useSession";
import { Composer } from "./composer/Composer";
import { ContextPanel } from "./context/ContextPanel";
import { Header } from "./Header";
import { useStored } from "./stored";
import { Timeline } from "./timeline/Timeline";

interface Props {
  id: string;
  onSettled(): void;
  onCreate(): void;
}

/** One session: its timeline, its composer, its context. */
export function SessionPage({ id, onSettled, onCreate }: Props) {
  const { t } = useTranslation();
  const { snapshot, connected, viewVersion } = useSession(id);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const isWide = window.innerWidth > 1100;
  const [panelOpen, setPanelOpen] = useStored(`palimpsest.panel.${isWide ? "wide" : "narrow"}`, isWide);
  const total = snapshot?.messageCount ?? 0;
  const pages = usePages(id, total, viewVersion);
  const compactions = useCompactions(id, snapshot?.compaction?.id ?? "", viewVersion);
  const [, setSeen] = useStored(`palimpsest.seen.${id}`, 0);
  const operation = snapshot?.operation;
  const title = snapshot?.title;

  useEffect(() => {
    ask(api.GET("/api/sessions/{session_id}", { params: { path: { session_id: id } } })).then(
      () => setProblem(null),
      setProblem,
    );
  }, [id]);
  useEffect(() => {
    if (operation === "idle") onSettled();
  }, [operation, title, onSettled]);
  useEffect(() => {
    if (total) setSeen(total);
  }, [total, setSeen]);

  if (problem) {
    return (
      <main className="welcome">
        <h1>{t("errors.title")}</h1>
        <p role="alert">{problem.message || t("errors.unreachable")}</p>
      </main>
    );
  }
  if (!snapshot) return <main className="welcome" aria-busy="true" />;
  return (
    <>
      <main className="session">
        <h1 className="visually-hidden">{snapshot.title || t("sessions.untitled")}</h1>
        <Header
          snapshot={snapshot}
          connected={connected}
          panelOpen={panelOpen}
          onPanel={() => setPanelOpen(!panelOpen)}
        />
        <Timeline snapshot={snapshot} pages={pages} compactions={compactions} />
        <Composer snapshot={snapshot} onCreate={onCreate} />
      </main>
      {panelOpen ? <ContextPanel snapshot={snapshot} /> : null}
    </>
  );
}
