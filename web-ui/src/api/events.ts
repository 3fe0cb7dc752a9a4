import type { SessionEvent, Snapshot } from "./types";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

export interface Listener {
  onSnapshot(snapshot: Snapshot): void;
  onEvent(event: SessionEvent): void;
  onConnected(connected: boolean): void;
}

/**
 * Follow a session until the returned function is called.
 *
 * The browser comes back by itself after a broken connection and goes on from the last frame; after
 * an answer that is no stream it gives up, and this opens a new one, waiting longer each time.
 */
export function follow(sessionId: string, listener: Listener): () => void {
  let source: EventSource;
  let timer = 0;
  let wait = FIRST_WAIT_MS;

  const open = () => {
    source = new EventSource(`/api/sessions/${sessionId}/events`);
    source.onopen = () => {
      wait = FIRST_WAIT_MS;
      listener.onConnected(true);
    };
    source.onerror = () => {
      listener.onConnected(false);
      if (source.readyState === EventSource.CLOSED) {
        timer = window.setTimeout(open, wait);
        wait = Math.min(2 * wait, LONGEST_WAIT_MS);
      }
    };
    source.addEventListener("snapshot", (frame) => listener.onSnapshot(JSON.parse(frame.data)));
    source.addEventListener("event", (frame) => listener.onEvent(JSON.parse(frame.data).event));
  };

  open();
  return () => {
    window.clearTimeout(timer);
    source.close();
  };
}
