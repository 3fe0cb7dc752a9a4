import { useCallback, useSyncExternalStore } from "react";

const CHANGED = "palimpsest:stored";

/** A value of this browser's storage; all tabs see the same one. */
export function useStored<T>(key: string, initial: T): [T, (next: T) => void] {
  const subscribe = useCallback((onChange: () => void) => {
    window.addEventListener("storage", onChange);
    window.addEventListener(CHANGED, onChange);
    return () => {
      window.removeEventListener("storage", onChange);
      window.removeEventListener(CHANGED, onChange);
    };
  }, []);
  const text = useSyncExternalStore(subscribe, () => localStorage.getItem(key));
  const set = useCallback(
    (next: T) => {
      localStorage.setItem(key, JSON.stringify(next));
      window.dispatchEvent(new Event(CHANGED));
    },
    [key],
  );
  return [parsed(text, initial), set];
}

function parsed<T>(text: string | null, initial: T): T {
  if (text === null) return initial;
  try {
    return JSON.parse(text) as T;
  } catch {
    return initial;
  }
}
