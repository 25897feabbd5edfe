import { useMemo, useRef, useState } from 'react';

/** Some people by address, or all who match the filter. */
export type Selected = ReadonlySet<string> | 'all';

export type Selection = ReturnType<typeof useSelection>;

/**
 * The people that a bulk action changes. The selection stays while the list loads more pages.
 * @param list identifies the list: another list begins with an empty selection
 */
export const useSelection = (list: string) => {
  const [selected, setSelected] = useState<Selected>(new Set());
  const [known, setKnown] = useState(list);
  if (list !== known) {
    setKnown(list);
    if (selected === 'all' || selected.size > 0) setSelected(new Set());
  }
  const lastToggled = useRef<string | null>(null);
  return useMemo(() => {
    const isAll = selected === 'all';
    const isEmpty = !isAll && selected.size === 0;
    return {
      selected,
      isEmpty,
      isSelected: (email: string): boolean => isAll || selected.has(email),
      toggle: (email: string): void => {
        if (isAll) return;
        const next = new Set(selected);
        if (!next.delete(email)) next.add(email);
        lastToggled.current = email;
        setSelected(next);
      },
      /** Extends the selection from the last toggled person to this one, like a click with Shift in lists. */
      extendTo: (email: string, listed: readonly string[]): void => {
        if (isAll) return;
        const [from, to] = [listed.indexOf(lastToggled.current ?? email), listed.indexOf(email)];
        const range = from < 0 ? [email] : listed.slice(Math.min(from, to), Math.max(from, to) + 1);
        lastToggled.current = email;
        setSelected(new Set([...selected, ...range]));
      },
      /** @param listed all matching people if they are loaded: then each can be deselected */
      selectAll: (listed: readonly string[] | null): void => setSelected(listed ? new Set(listed) : 'all'),
      clear: (): void => {
        lastToggled.current = null;
        if (!isEmpty) setSelected(new Set());
      },
    };
  }, [selected]);
};
