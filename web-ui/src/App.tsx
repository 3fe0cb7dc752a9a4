import { useCallback, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, ask, ApiError } from "./api/client";
import { useSessions } from "./api/useSessions";
import { SessionList } from "./sessions/SessionList";
import { SessionPage } from "./SessionPage";
import { Welcome } from "./Welcome";

/** Which session is shown stands in the address, so that reload, back and links work. */
function useChosen(): [string, (id: string) => void] {
  const [chosen, setChosen] = useState(location.hash.slice(1));
  useEffect(() => {
    const onChange = () => setChosen(location.hash.slice(1));
    window.addEventListener("hashchange", onChange);
    return () => window.removeEventListener("hashchange", onChange);
  }, []);
  const choose = useCallback((id: string) => {
    location.hash = id;
  }, []);
  return [chosen, choose];
}

export function App() {
  const { t } = useTranslation();
  const { sessions, cwd, loaded, problem: unlisted, refresh } = useSessions();
  const [chosen, choose] = useChosen();
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [listOpen, setListOpen] = useState(false);

  const create = useCallback(async () => {
    try {
      const snapshot = await ask(api.POST("/api/sessions"));
      setProblem(null);
      choose(snapshot.id);
      await refresh();
    } catch (error) {
      setProblem(error as ApiError);
      choose("");
    }
  }, [choose, refresh]);

  useEffect(() => setListOpen(false), [chosen]);

  return (
    <div className={`app${listOpen ? " list-open" : ""}`}>
      <a className="skip" href="#composer" onClick={focusComposer}>
        {t("skip")}
      </a>
      <SessionList sessions={sessions} cwd={cwd} chosen={chosen} onChoose={choose} onCreate={create} />
      {listOpen ? <div className="scrim" aria-hidden="true" onClick={() => setListOpen(false)} /> : null}
      <button
        className="list-toggle quiet"
        aria-expanded={listOpen}
        aria-label={t("sessions.title")}
        onClick={() => setListOpen(!listOpen)}
      >
        ☰
      </button>
      {chosen ? (
        <SessionPage
          key={chosen}
          id={chosen}
          title={sessions.find((entry) => entry.id === chosen)?.title ?? ""}
          onSettled={refresh}
          onCreate={create}
        />
      ) : (
        <Welcome loaded={loaded} problem={problem ?? unlisted} onCreate={create} />
      )}
    </div>
  );
}

function focusComposer(event: React.MouseEvent) {
  event.preventDefault();
  document.getElementById("composer")?.focus();
}
