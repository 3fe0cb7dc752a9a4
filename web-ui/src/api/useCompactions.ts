import { useEffect, useState } from "react";
import { api, ask } from "./client";
import type { Checkpoint, Snapshot } from "./types";

/** Every checkpoint of a session, oldest first; read anew when the active one or the view changes. */
export function useCompactions(snapshot: Snapshot | null, version: number) {
  const [checkpoints, setCheckpoints] = useState<readonly Checkpoint[]>([]);
  const id = snapshot?.id;
  const active = snapshot?.compaction?.id;
  useEffect(() => {
    if (id === undefined) return;
    let current = true;
    const path = { session_id: id };
    ask(api.GET("/api/sessions/{session_id}/compactions", { params: { path } })).then(
      (answer) => current && setCheckpoints(answer.checkpoints),
      () => undefined,
    );
    return () => {
      current = false;
    };
  }, [id, active, version]);
  return checkpoints;
}
