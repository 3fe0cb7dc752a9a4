import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, ask } from "../api/client";
import { useCommand } from "../useCommand";

interface Props {
  sessionId: string;
  index: number;
  characters: number;
}

/** Offers the rest of a text that a page of messages left out: the original, whole. */
export function Omitted({ sessionId, index, characters }: Props) {
  const { t } = useTranslation();
  const { run, problem } = useCommand();
  const [whole, setWhole] = useState<string | null>(null);
  if (!characters) return null;
  if (whole !== null) return <pre tabIndex={0} className="whole">{whole}</pre>;
  const show = async () => {
    const path = { session_id: sessionId, index };
    const message = await run(() =>
      ask(api.GET("/api/sessions/{session_id}/messages/{index}", { params: { path } })),
    );
    if (message) setWhole(message.parts.map((part) => ("text" in part ? part.text : "")).join("\n"));
  };
  return (
    <p className="pale">
      {t("timeline.omitted", { count: characters })}{" "}
      <button className="link" onClick={show}>
        {t("timeline.showWhole")}
      </button>{" "}
      {problem}
    </p>
  );
}
