import { useMemo, useState } from 'react';

/** Some people by address, or all who match the filter. */
export type Selected = ReadonlySet<string> | 'all';

export type Selection = ReturnType<typeof useSelection>;

/** The people that a bulk action changes. It stays while the list loads more pages. */
export const useSelection = () => {
  const [selected, setSelected] = useState<Selected>(new Set());
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
        setSelected(next);
      },
      toggleAll: (): void => setSelected(isAll ? new Set() : 'all'),
      clear: (): void => {
        if (!isEmpty) setSelected(new Set());
      },
    };
  }, [selected]);
};
