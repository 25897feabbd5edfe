import type { Outputs } from '../api.ts';
import classes from './people.module.css';
import { AppsCell, LastSeen, PersonLink, PersonStatus, RowAvatar } from './person-cells.tsx';
import { type Selecting, SelectPerson } from './select-people.tsx';

type Props = { person: Outputs['users']['people'][number]; selecting: Selecting | null };

export const CARD_HEIGHT = 96;

/** A person in the list on phones. */
export const PersonCard = ({ person, selecting }: Props) => (
  <div className={classes.card}>
    {selecting && <SelectPerson selecting={selecting} email={person.email} />}
    <RowAvatar person={person} size={32} />
    <div className={classes.lines}>
      <span className={classes.line}>
        <PersonLink person={person} />
        <PersonStatus person={person} />
      </span>
      <span className={classes.address} title={person.email}>
        {person.email}
      </span>
      <span className={classes.line}>
        <AppsCell person={person} />
        <LastSeen person={person} />
      </span>
    </div>
  </div>
);
