import { useTranslation } from "react-i18next";
import type { Breakdown } from "../api/types";
import { tokens } from "../numbers";

interface Props {
  breakdown: Breakdown;
  reserve: number;
  safety: number;
}

/** The window as one bar, and the same as a table: the colours are those of the `/context` command. */
export function StackedBar({ breakdown, reserve, safety }: Props) {
  const { t } = useTranslation();
  const { system, tools, skills, summary, turns, cleared, free } = breakdown;
  const shares = { system, tools, skills, summary, turns, cleared, free, reserve, safety };
  const entries = Object.entries(shares).filter(([, size]) => size > 0);
  return (
    <div className="breakdown">
      <div className="bar" aria-hidden="true">
        {entries.map(([name, size]) => (
          <span key={name} className={`share-${name}`} style={{ flexGrow: size }} />
        ))}
      </div>
      <table>
        <caption className="visually-hidden">{t("context.title")}</caption>
        <tbody>
          {entries.map(([name, size]) => (
            <tr key={name}>
              <th scope="row">
                <span className={`swatch share-${name}`} aria-hidden="true" /> {t(`context.${name}`)}
                {name === "turns" ? ` · ${breakdown.turnsKept}` : ""}
                {name === "cleared" ? ` · ${breakdown.outputsCleared}` : ""}
              </th>
              <td>{tokens(size)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
