import { useState } from 'react';
import type { Outputs } from '../api.ts';

export type AccessUser = Outputs['access']['grid']['users'][number];
export type Cell = { email: string; app_id: string; granted: boolean };

/** An app that a group gives can only be revoked by changing the group. */
export const isByGroup = ({ apps_by_group: ids }: AccessUser, appId: string): boolean => ids.includes(appId);

const keyOf = (email: string, appId: string): string => `${appId} ${email}`;

export type Cells = ReturnType<typeof useCells>;

/** The cells with unsaved changes. */
export const useCells = () => {
  const [changes, setChanges] = useState<ReadonlyMap<string, Cell>>(new Map());

  const isGranted = ({ email, apps }: AccessUser, appId: string): boolean =>
    changes.get(keyOf(email, appId))?.granted ?? apps.includes(appId);

  return {
    changes: [...changes.values()],
    isGranted,
    clear: (): void => setChanges(new Map()),
    /** Clears saved changes, but not changes made since. */
    settle: (saved: readonly Cell[]): void =>
      setChanges((current) => {
        const next = new Map(current);
        for (const { email, app_id, granted } of saved) {
          const key = keyOf(email, app_id);
          if (next.get(key)?.granted === granted) next.delete(key);
        }
        return next;
      }),
    /** Sets all combinations. A cell that equals its saved value no longer counts as changed. */
    set: (users: readonly AccessUser[], appIds: readonly string[], granted: boolean): void => {
      setChanges((current) => {
        const next = new Map(current);
        for (const user of users) {
          const { email, apps, is_changeable } = user;
          if (!is_changeable) continue;
          for (const appId of appIds) {
            if (isByGroup(user, appId)) continue;
            if (apps.includes(appId) === granted) next.delete(keyOf(email, appId));
            else next.set(keyOf(email, appId), { email, app_id: appId, granted });
          }
        }
        return next;
      });
    },
  };
};
