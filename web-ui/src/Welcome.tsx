import { useTranslation } from "react-i18next";
import type { ApiError } from "./api/client";

interface Props {
  loaded: boolean;
  problem: ApiError | null;
  onCreate(): void;
}

/** Shown while no session is: says how to begin, or what is missing. */
export function Welcome({ loaded, problem, onCreate }: Props) {
  const { t } = useTranslation();
  return (
    <main className="welcome">
      <h1>{t("welcome.title")}</h1>
      <p>{t("welcome.text")}</p>
      {problem ? (
        <section className="notice" role="alert">
          <h2>{t("welcome.modelTitle")}</h2>
          <p>{problem.message || t("errors.unreachable")}</p>
          <p>{t("welcome.modelText")}</p>
          <pre>
            <code>{"export PALIMPSEST_MODEL=anthropic:claude-sonnet-4-5\nexport ANTHROPIC_API_KEY=…\npalimpsest web"}</code>
          </pre>
          <p>{t("welcome.withoutKey")}</p>
          <pre>
            <code>{"palimpsest demo\npalimpsest replay session.jsonl --html report.html"}</code>
          </pre>
        </section>
      ) : null}
      <button className="primary" disabled={!loaded} onClick={onCreate}>
        {t("sessions.new")}
      </button>
    </main>
  );
}
