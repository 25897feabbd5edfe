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
  const [known, setKnown] = useState(list);
  const set = (invitations: Iterable<readonly [number, string]>): void =>
    setSelected(new Map([...invitations].slice(0, MAX_SELECTED)));
  if (list !== known) {
    setKnown(list);
    set([]);
  }
  return {
    selected,
    toggle: ({ id, email }: Invitation): void => {
      const next = new Map(selected);
      if (!next.delete(id)) next.set(id, email);
      set(next);
    },
    selectAll: (invitations: readonly Invitation[]): void =>
      set(invitations.map(({ id, email }) => [id, email] as const)),
    clear: (): void => set([]),
  };
};
