import { useTranslation } from "react-i18next";
import type { Snapshot } from "../api/types";
import { percent, Ring } from "../context/Ring";
import type { CommandName } from "./commands";

interface Props {
  names: readonly CommandName[];
  chosen: number;
  snapshot: Snapshot;
  /** Why Compact cannot be given now, or empty. */
  reason: string;
  onChoose(name: CommandName): void;
}

export function SlashMenu({ names, chosen, snapshot, reason, onChoose }: Props) {
  const { t } = useTranslation();
  return (
    <ul className="slash-menu" id="slash-menu" role="listbox" aria-label={t("slash.title")}>
      {names.map((name, number) => {
        const why = name === "compact" ? reason : "";
        return (
          <li
            key={name}
            id={`slash-${name}`}
            role="option"
            aria-selected={number === chosen}
            aria-disabled={why !== ""}
            // The caret stays where it is.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onChoose(name)}
          >
            <strong>{t(`slash.${name}`)}</strong>
            <span className="pale why">{why || t(`slash.${name}Text`)}</span>
            {name === "compact" ? (
              <span className="share">
                <Ring state={snapshot.contextBudget} size={18} /> {percent(snapshot.contextBudget)} %
              </span>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}
