import { useTranslation } from "react-i18next";
import type { ApiError } from "./api/client";

const START = `export PALIMPSEST_MODEL=anthropic:claude-sonnet-4-5
export ANTHROPIC_API_KEY=…
palimpsest web`;

const WITHOUT_KEY = "palimpsest web --demo";

const NEEDS_MODEL: readonly string[] = ["unknown_model", "missing_key", "missing_extra"];

interface Props {
  problem: ApiError;
  onCreate(): void;
}

/** Why something cannot be shown or begun, and what to do about it. */
export function Problem({ problem, onCreate }: Props) {
  const { t, i18n } = useTranslation();
  const needsModel = NEEDS_MODEL.includes(problem.code);
  const isMissing = problem.code === "not_found";
  const title = needsModel ? "errors.model" : isMissing ? "errors.missing" : "errors.title";
  // What the server says is English, and names more than the page knows.
  const isTranslated = needsModel && i18n.language !== "en";
  const said = isTranslated ? t(`errors.${problem.code}`) : problem.message;
  return (
    <section className="problem" role="alert">
      <h2>{t(title)}</h2>
      <p>{isMissing ? t("errors.missingText") : problem.message ? said : t("errors.unreachable")}</p>
      {isTranslated && problem.message ? (
        <p className="pale" lang="en">
          {problem.message}
        </p>
      ) : null}
      {needsModel ? (
        <>
          <p>{t("errors.modelText")}</p>
          <pre tabIndex={0}>
            <code>{START}</code>
          </pre>
          <p>{t("errors.withoutKey")}</p>
          <pre tabIndex={0}>
            <code>{WITHOUT_KEY}</code>
          </pre>
        </>
      ) : null}
      {isMissing ? (
        <button className="primary" onClick={onCreate}>
          {t("sessions.new")}
        </button>
      ) : null}
    </section>
  );
}
