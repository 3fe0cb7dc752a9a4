import { useTranslation } from "react-i18next";
import { api, ask } from "../api/client";
import type { Snapshot } from "../api/types";
import { useCommand } from "../useCommand";

/** Calls that wait for the person; the first answer wins, wherever it is given. */
export function Approvals({ snapshot }: { snapshot: Snapshot }) {
  const { t } = useTranslation();
  const { run, problem } = useCommand();
  const answer = (requestId: string, approved: boolean) =>
    run(() =>
      ask(
        api.POST("/api/sessions/{session_id}/approvals/{request_id}", {
          params: { path: { session_id: snapshot.id, request_id: requestId } },
          body: { approved },
        }),
      ),
    );
  return (
    <>
      {snapshot.pendingApprovals.map((request) => (
        <section key={request.requestId} className="approval" role="alertdialog" aria-label={t("approval.title")}>
          <p>
            {t("approval.text")} <strong>{request.toolName}</strong>
          </p>
          <pre tabIndex={0}>{request.arguments}</pre>
          <p className="buttons">
            <button className="primary" onClick={() => answer(request.requestId, true)}>
              {t("approval.allow")}
            </button>
            <button onClick={() => answer(request.requestId, false)}>{t("approval.refuse")}</button>
          </p>
        </section>
      ))}
      {problem ? (
        <p className="notice" role="alert">
          {problem}
        </p>
      ) : null}
    </>
  );
}
