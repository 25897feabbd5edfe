import { useState } from 'react';

/** The maximum number of invitations in one request. */
export const MAX_SELECTED = 1_000;

type Invitation = { id: number; email: string };

export type InvitationSelection = ReturnType<typeof useInvitationSelection>;

/**
 * The invitations that a bulk action changes, as email addresses by id. The selection stays while the list loads more pages.
 * @param list identifies the list: another list begins with an empty selection
 */
export const useInvitationSelection = (list: string) => {
  const [selected, setSelected] = useState<ReadonlyMap<number, string>>(new Map());
  const [isAll, setAll] = useState(false);
  const [known, setKnown] = useState(list);
  const set = (invitations: Iterable<readonly [number, string]>, all: boolean): void => {
    setSelected(new Map([...invitations].slice(0, MAX_SELECTED)));
    setAll(all);
  };
  if (list !== known) {
    setKnown(list);
    set([], false);
  }
  return {
    selected,
    isAll,
    toggle: ({ id, email }: Invitation): void => {
      const next = new Map(selected);
      if (!next.delete(id)) next.set(id, email);
      set(next, false);
    },
    selectAll: (invitations: readonly Invitation[], all = true): void =>
      set(
        invitations.map(({ id, email }) => [id, email] as const),
        all,
      ),
    clear: (): void => set([], false),
  };
};
