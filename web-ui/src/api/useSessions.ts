import { useCallback, useEffect, useState } from "react";
import { api, type ApiError, ask } from "./client";
import type { SessionEntry } from "./types";

const EVERY_MS = 10_000;

/** The project's sessions, looked at again now and then, and whenever `refresh` is called. */
export function useSessions() {
  const [sessions, setSessions] = useState<readonly SessionEntry[]>([]);
  const [cwd, setCwd] = useState("");
  const [loaded, setLoaded] = useState(false);
  const [problem, setProblem] = useState<ApiError | null>(null);

  const refresh = useCallback(async () => {
    try {
      const list = await ask(api.GET("/api/sessions"));
      setSessions(list.sessions);
      setCwd(list.cwd);
      setLoaded(true);
      setProblem(null);
    } catch (error) {
      setProblem(error as ApiError);
    }
  }, []);

  useEffect(() => {
    const look = () => {
      if (!document.hidden) refresh();
    };
    look();
    const timer = window.setInterval(look, EVERY_MS);
    return () => window.clearInterval(timer);
  }, [refresh]);

  return { sessions, cwd, loaded, problem, refresh };
}
