import { useEffect, useState } from "react";
import { api, ask } from "../api/client";

/** The names of a session's skills. */
export function useSkills(sessionId: string): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    const path = { session_id: sessionId };
    ask(api.GET("/api/sessions/{session_id}/skills", { params: { path } })).then(
      (answer) => setNames(answer.names),
      () => undefined,
    );
  }, [sessionId]);
  return names;
}
