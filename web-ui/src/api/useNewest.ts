import { useEffect, useState } from "react";
import { api, ask } from "./client";
import { PAGE } from "./usePages";
import type { Originals } from "./types";

export interface Newest {
  /** The last page of the history, or null where it cannot be read. */
  page: Originals | null;
  /** There is nothing to wait for. */
  settled: boolean;
}

/** The end of a history, which the server reads without opening its session: what is shown first. */
export function useNewest(sessionId: string): Newest {
  const [newest, setNewest] = useState<Newest>({ page: null, settled: false });
  useEffect(() => {
    let current = true;
    const params = { path: { session_id: sessionId }, query: { limit: PAGE } };
    ask(api.GET("/api/sessions/{session_id}/messages", { params })).then(
      (page) => current && setNewest({ page, settled: true }),
      // Why, is said by what asks for the session itself.
      () => current && setNewest({ page: null, settled: true }),
    );
    return () => {
      current = false;
    };
  }, [sessionId]);
  return newest;
}
