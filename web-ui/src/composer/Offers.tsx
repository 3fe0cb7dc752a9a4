interface Props {
  label: string;
  names: readonly string[];
  onChoose(name: string): void;
}

/** What the word under the caret may become. */
export function Offers({ label, names, onChoose }: Props) {
  if (names.length === 0) return null;
  return (
    <ul className="chips" aria-label={label}>
      {names.map((name) => (
        <li key={name}>
          <button type="button" onClick={() => onChoose(name)}>
            {name.trim()}
          </button>
        </li>
      ))}
    </ul>
  );
}
