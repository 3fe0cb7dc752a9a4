import { useTranslation } from "react-i18next";
import type { Receipt } from "../api/types";

const SORTS = ["filesChanged", "filesRead", "commands", "openErrors", "userRules"] as const;

/** What a compaction kept and what stands in the originals only, fact by fact. */
export function ReceiptFacts({ receipt }: { receipt: Receipt }) {
  const { t } = useTranslation();
  return (
    <div className="receipt" tabIndex={0}>
      <h2>{t("receipt.title")}</h2>
      {SORTS.map((sort) => {
        const facts = receipt[sort];
        return facts.total ? (
          <details key={sort}>
            <summary>
              {t(`receipt.${sort}`)} · {t("receipt.inView", { inView: facts.inView, total: facts.total })}
            </summary>
            <ul>
              {facts.newest.map((fact, number) => (
                <li key={number}>
                  {fact.text} <span className="pale">{fact.detail}</span>{" "}
                  <span className={fact.inView ? "in-view" : "original-only"}>
                    {t(fact.inView ? "receipt.kept" : "receipt.originalOnly")}
                  </span>
                </li>
              ))}
            </ul>
          </details>
        ) : null;
      })}
      <p className="pale">
        {t("receipt.identifiers", { inView: receipt.identifiers.inView, total: receipt.identifiers.total })}
      </p>
      {receipt.figures.warnings.map((warning) => (
        <p key={warning} className="pale">
          {warning}
        </p>
      ))}
    </div>
  );
}
