import { useEffect, useState } from "react";
import { api, ask } from "./client";
import type { Checkpoint } from "./types";

/** Every checkpoint of a session, oldest first; read anew when the active one or the view changes. */
export function useCompactions(sessionId: string, active: string, version: number) {
  const [checkpoints, setCheckpoints] = useState<readonly Checkpoint[]>([]);
  useEffect(() => {
    let current = true;
    const path = { session_id: sessionId };
    ask(api.GET("/api/sessions/{session_id}/compactions", { params: { path } })).then(
      (answer) => current && setCheckpoints(answer.checkpoints),
      () => undefined,
    );
    return () => {
      current = false;
    };
  }, [sessionId, active, version]);
  return checkpoints;
}
