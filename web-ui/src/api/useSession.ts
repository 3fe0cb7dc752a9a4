import { useEffect, useState } from "react";
import type { ApiError } from "./client";
import { follow } from "./events";
import type { SessionEvent, Snapshot } from "./types";

export interface SessionView {
  /** Null until the server has opened the session. */
  snapshot: Snapshot | null;
  connected: boolean;
  /** Why the server will not show it as it is now. */
  problem: ApiError | null;
  /** Grows whenever something decided anew what the model sees, or may have while nobody listened. */
  viewVersion: number;
}

const CHANGES_VIEW = new Set<SessionEvent["kind"]>(["pruned", "compaction_end", "restored"]);

/**
 * Follow a session: every frame but a piece of a reply is followed by a whole snapshot.
 *
 * @param begun false waits: opening a session takes the server's time, and the page has one thing to
 *   ask before.
 */
export function useSession(sessionId: string, begun: boolean): SessionView {
  const [snapshot, setSnapshot] = useState<Snapshot | null>(null);
  const [connected, setConnected] = useState(true);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [viewVersion, setViewVersion] = useState(0);

  useEffect(() => {
    if (!begun) return;
    let isFirst = true;
    return follow(sessionId, {
      onSnapshot: setSnapshot,
      onConnected: setConnected,
      onGap() {
        if (!isFirst) setViewVersion((version) => version + 1);
        isFirst = false;
      },
      onRefused: setProblem,
      onEvent(event) {
        if (event.kind === "message_update") {
          const { channel, delta } = event;
          setSnapshot((now) => now && { ...now, live: appended(now.live, channel, delta) });
        } else if (CHANGES_VIEW.has(event.kind)) {
          setViewVersion((version) => version + 1);
        }
      },
    });
  }, [sessionId, begun]);

  return { snapshot, connected, problem, viewVersion };
}

function appended(live: Snapshot["live"], channel: "text" | "thinking", delta: string) {
  return { ...live, [channel]: (live[channel] ?? "") + delta };
}
