import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import type { ApiError } from "./api/client";
import { useCompactions } from "./api/useCompactions";
import { useNewest } from "./api/useNewest";
import { usePages } from "./api/usePages";
import { useSession } from "./api/useSession";
import { Composer } from "./composer/Composer";
import { ContextPanel } from "./context/ContextPanel";
import { Header } from "./Header";
import { Problem } from "./Problem";
import { useStored } from "./stored";
import { Timeline } from "./timeline/Timeline";

interface Props {
  id: string;
  /** As the list knows it. */
  title: string;
  onSettled(): void;
  onCreate(): void;
}

/** One session: its timeline, its composer, its context. */
export function SessionPage({ id, title, onSettled, onCreate }: Props) {
  const { t } = useTranslation();
  const newest = useNewest(id);
  const { snapshot, connected, problem, viewVersion } = useSession(id, newest.settled);
  const isWide = window.innerWidth > 1100;
  const [panelOpen, setPanelOpen] = useStored(`palimpsest.panel.${isWide ? "wide" : "narrow"}`, isWide);
  const total = snapshot?.messageCount ?? newest.page?.total ?? 0;
  const pages = usePages(id, newest.page, total, viewVersion);
  const compactions = useCompactions(snapshot, viewVersion);
  const [, setSeen] = useStored(`palimpsest.seen.${id}`, 0);
  const operation = snapshot?.operation;
  const named = snapshot?.title;

  useEffect(() => {
    if (operation === "idle") onSettled();
  }, [operation, named, onSettled]);
  useEffect(() => {
    if (total) setSeen(total);
  }, [total, setSeen]);

  if (!snapshot && !newest.page) {
    return (
      <main className="welcome" aria-busy={!problem}>
        {problem ? <Problem problem={problem} onCreate={onCreate} /> : null}
      </main>
    );
  }
  return (
    <>
      <main className="session">
        <h1 className="visually-hidden">{snapshot?.title || title || t("sessions.untitled")}</h1>
        {snapshot ? (
          <Header
            snapshot={snapshot}
            listed={title}
            connected={connected}
            panelOpen={panelOpen}
            onPanel={() => setPanelOpen(!panelOpen)}
          />
        ) : (
          <header className="session-header opening-title">{title || t("sessions.untitled")}</header>
        )}
        <Timeline sessionId={id} total={total} snapshot={snapshot} pages={pages} compactions={compactions} />
        {problem ? <Refused problem={problem} onCreate={onCreate} /> : null}
        {!problem && snapshot ? <Composer snapshot={snapshot} onCreate={onCreate} /> : null}
        {!problem && !snapshot ? (
          <div className="composer">
            <p className="composer-box opening pale" role="status">
              {t("session.opening")}
            </p>
          </div>
        ) : null}
      </main>
      {panelOpen && snapshot ? <ContextPanel snapshot={snapshot} /> : null}
      {panelOpen && !snapshot ? <div className="panel unknown" /> : null}
    </>
  );
}

/** Stands in the place of the composer where messages can be read and nothing can be asked. */
function Refused({ problem, onCreate }: { problem: ApiError; onCreate(): void }) {
  return (
    <div className="composer">
      <Problem problem={problem} onCreate={onCreate} />
    </div>
  );
}
