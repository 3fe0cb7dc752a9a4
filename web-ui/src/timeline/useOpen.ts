import { createContext, useContext, useState } from "react";

/** What stands open in a timeline; it outlives a row that is scrolled away and drawn anew. */
export const OpenRows = createContext(new Map<string, boolean>());

/** Whether something is open, and what opens and closes it. */
export function useOpen(key: string): [boolean, () => void] {
  const rows = useContext(OpenRows);
  const [open, setOpen] = useState(rows.get(key) ?? false);
  const toggle = () => {
    rows.set(key, !open);
    setOpen(!open);
  };
  return [open, toggle];
}
