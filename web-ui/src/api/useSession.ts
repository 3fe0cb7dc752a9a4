import { useEffect, useState } from "react";
import { follow } from "./events";
import type { SessionEvent, Snapshot } from "./types";

export interface SessionView {
  snapshot: Snapshot | null;
  connected: boolean;
  /** Grows whenever something decided anew what the model sees, or may have while nobody listened. */
  viewVersion: number;
}

const CHANGES_VIEW = new Set<SessionEvent["kind"]>(["pruned", "compaction_end", "restored"]);

/** Follow a session: every frame but a piece of a reply is followed by a whole snapshot. */
export function useSession(sessionId: string): SessionView {
  const [snapshot, setSnapshot] = useState<Snapshot | null>(null);
  const [connected, setConnected] = useState(true);
  const [viewVersion, setViewVersion] = useState(0);

  useEffect(() => {
    setSnapshot(null);
    return follow(sessionId, {
      onSnapshot: setSnapshot,
      onConnected(now) {
        setConnected(now);
        if (!now) setViewVersion((version) => version + 1);
      },
      onEvent(event) {
        if (event.kind === "message_update") {
          const { channel, delta } = event;
          setSnapshot((now) => now && { ...now, live: appended(now.live, channel, delta) });
        } else if (CHANGES_VIEW.has(event.kind)) {
          setViewVersion((version) => version + 1);
        }
      },
    });
  }, [sessionId]);

  return { snapshot, connected, viewVersion };
}

function appended(live: Snapshot["live"], channel: "text" | "thinking", delta: string) {
  return { ...live, [channel]: (live[channel] ?? "") + delta };
}
