import { useTranslation } from "react-i18next";
import type { ApiError } from "./api/client";
import { Mark } from "./Mark";
import { Problem } from "./Problem";

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
      <Mark size={40} />
      <h1>{t("welcome.title")}</h1>
      <p>{t("welcome.text")}</p>
      {problem ? (
        <Problem problem={problem} onCreate={onCreate} />
      ) : (
        <button className="primary" disabled={!loaded} onClick={onCreate}>
          {t("sessions.new")}
        </button>
      )}
    </main>
  );
}
