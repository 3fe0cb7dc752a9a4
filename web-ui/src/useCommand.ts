import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";
import type { ApiError } from "./api/client";

/** Runs commands and keeps the sentence of the last one that was refused. */
export function useCommand() {
  const { t } = useTranslation();
  const [problem, setProblem] = useState("");
  const run = useCallback(
    async <T>(command: () => Promise<T>): Promise<T | null> => {
      try {
        const answer = await command();
        setProblem("");
        return answer;
      } catch (error) {
        const { code, message } = error as ApiError;
        setProblem(message || t(`errors.${code}`, t("errors.unreachable")));
        return null;
      }
    },
    [t],
  );
  return { run, problem };
}
