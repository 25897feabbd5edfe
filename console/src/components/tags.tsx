type Props = { names: readonly string[]; shown: number };

/** The first names as chips, and `+3`, with the others as a tooltip. */
export const Tags = ({ names, shown }: Props) => {
  // A single further name takes no more room than its number.
  const count = names.length === shown + 1 ? names.length : shown;
  return (
    <span className="tags">
      {names.slice(0, count).map((name, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two apps may have the same name
        <span key={index} className="tag" title={name}>
          {name}
        </span>
      ))}
      <Rest names={names.slice(count)} />
    </span>
  );
};

/** The first name as text, and `+3`. */
export const FirstName = ({ names: [first, ...others] }: { names: readonly string[] }) =>
  first === undefined ? (
    '–'
  ) : (
    <span className="tags">
      <span className="tag-text" title={first}>
        {first}
      </span>
      <Rest names={others} />
    </span>
  );

/** `+3`, with these names as a tooltip. */
const Rest = ({ names }: { names: readonly string[] }) =>
  names.length > 0 && (
    <span className="tag" data-rest title={names.join(', ')}>
      <span aria-hidden>+{names.length}</span>
      <span className="visually-hidden">and {names.join(', ')}</span>
    </span>
  );
