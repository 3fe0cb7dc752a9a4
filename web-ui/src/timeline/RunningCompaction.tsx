import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, ask } from "../api/client";
import type { Snapshot } from "../api/types";
import { tokens } from "../numbers";
import { useCommand } from "../useCommand";

const LONG_S = 15;

/** Stands where the rule will be; the time is counted from the server's start, reload or not. */
export function RunningCompaction({ snapshot }: { snapshot: Snapshot }) {
  const startedAt = snapshot.compactionStartedAt;
  return startedAt === null ? null : <Running key={startedAt} startedAt={startedAt} snapshot={snapshot} />;
}

function Running({ startedAt, snapshot }: { startedAt: number; snapshot: Snapshot }) {
  const { t } = useTranslation();
  const { run } = useCommand();
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 500);
    return () => window.clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.floor((now - startedAt) / 1000));
  const params = { path: { session_id: snapshot.id } };
  return (
    <div className="compacting" role="status">
      <p>
        {/* The count is for the eye: read aloud, it would speak every second. */}
        <span>{t("compaction.running")}</span>
        <span aria-hidden="true">
          · {seconds} s · {tokens(snapshot.contextBudget.size.tokens)} {t("compaction.tokens")}
        </span>{" "}
        <button onClick={() => run(() => ask(api.POST("/api/sessions/{session_id}/abort", { params })))}>
          {t("composer.stop")}
        </button>
      </p>
      {seconds >= LONG_S ? <p className="pale">{t("compaction.long")}</p> : null}
    </div>
  );
}
