import { People } from './0001-people.ts';
import { Apps } from './0002-apps.ts';
import { Invitations } from './0003-invitations.ts';

/** In the order they run. Names are recorded in the database: never rename one that has been released. */
export const migrations = [
  { name: '0001-people', class: People },
  { name: '0002-apps', class: Apps },
  { name: '0003-invitations', class: Invitations },
];
