import { useCallback, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, ask, type ApiError } from "../api/client";
import type { Snapshot } from "../api/types";

const NOTICE_MS = 5_000;

/** What a nothing_to_compact answer was about: it holds until one of these changes. */
function stateOf(snapshot: Snapshot): string {
  return [snapshot.messageCount, snapshot.compaction?.id ?? "", snapshot.model].join(":");
}

/** The Compact command: whether it may be given and if not why, and what became of it. */
export function useCompact(snapshot: Snapshot) {
  const { t } = useTranslation();
  const [nothingAt, setNothingAt] = useState("");
  const [notice, setNotice] = useState("");

  useEffect(() => {
    if (!notice) return;
    const timer = window.setTimeout(() => setNotice(""), NOTICE_MS);
    return () => window.clearTimeout(timer);
  }, [notice]);

  const reason = snapshot.pendingApprovals.length
    ? t("compact.approvals")
    : snapshot.operation !== "idle"
      ? t("compact.busy")
      : snapshot.hasPendingSave
        ? t("compact.pending")
        : nothingAt === stateOf(snapshot) || !snapshot.compactionAvailable
          ? snapshot.compactionUnavailableBecause || t("compact.nothing")
          : "";

  /** Compact; true where it succeeded, so that the command's text may go. */
  const compact = useCallback(
    async (instructions: string): Promise<boolean> => {
      if (reason) {
        setNotice(reason);
        return false;
      }
      const params = { path: { session_id: snapshot.id } };
      try {
        const after = await ask(api.POST("/api/sessions/{session_id}/compact", { params, body: { instructions } }));
        return after.outcome === "success";
      } catch (error) {
        const { code, message } = error as ApiError;
        if (code === "nothing_to_compact") setNothingAt(stateOf(snapshot));
        setNotice(code === "nothing_to_compact" ? t("compact.nothing") : message || t("errors.unreachable"));
        return false;
      }
    },
    [snapshot, reason, t],
  );

  return { reason, notice, compact };
}
