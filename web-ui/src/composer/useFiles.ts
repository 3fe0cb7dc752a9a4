import { useEffect, useState } from "react";
import { api, ask } from "../api/client";

/** The project's files that begin as the `@path` at the end of a text; folders end with a slash. */
export function useFiles(sessionId: string, text: string): readonly string[] {
  const beginning = /(?:^|\s)@([^\s@]*)$/.exec(text)?.[1];
  const [paths, setPaths] = useState<readonly string[]>([]);
  useEffect(() => {
    setPaths([]);
    if (beginning === undefined) return;
    let current = true;
    const params = { path: { session_id: sessionId }, query: { beginning } };
    ask(api.GET("/api/sessions/{session_id}/files", { params })).then(
      (answer) => current && setPaths(answer.paths),
      () => undefined,
    );
    return () => {
      current = false;
    };
  }, [sessionId, beginning]);
  return paths;
}
