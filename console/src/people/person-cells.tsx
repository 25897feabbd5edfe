import { Link } from '@tanstack/react-router';
import type { Outputs } from '../api.ts';
import { agoOf, dayAgoOf, dayText, exactTimeOf } from '../components/date-text.tsx';
import { StatusText } from '../components/status-text.tsx';
import { Tags } from '../components/tags.tsx';
import { avatarOf } from './avatar-of.ts';
import { nameOf } from './name-of.ts';
import classes from './people.module.css';

type Person = Outputs['users']['people'][number];
type Props = { person: Person };

export const PersonLink = ({ person }: Props) => (
  <Link className={`text-link ${classes.link}`} to="/people/$email" params={{ email: person.email }}>
    {nameOf(person)}
  </Link>
);

export const RowAvatar = ({ person, size }: Props & { size: number }) => (
  <img className={classes.avatar} src={avatarOf(person)} alt="" width={size} height={size} />
);

/** The name shrinks before the address does. */
export const NameCell = ({ person }: Props) => (
  <span className={classes.name}>
    <RowAvatar person={person} size={24} />
    <PersonLink person={person} />
    {nameOf(person) !== person.email && (
      <span className={classes.address} title={person.email}>
        {person.email}
      </span>
    )}
  </span>
);

/** People who open apps by a role have no grants to list. */
export const AppsCell = ({ person: { app_labels, opens_all_apps, clientadmin_of } }: Props) => {
  if (opens_all_apps) return <AllApps reason="Superusers and staff open all apps." />;
  if (clientadmin_of.length > 0) return <AllApps reason="Client admins open all apps of their clients." />;
  return app_labels.length === 0 ? '–' : <Tags names={app_labels} shown={2} />;
};

const AllApps = ({ reason }: { reason: string }) => (
  <span className={classes.muted} title={reason}>
    All apps
  </span>
);

export const PersonStatus = ({ person: { is_active } }: Props) =>
  is_active ? <StatusText color="green" label="Active" /> : <StatusText color="yellow" label="Suspended" />;

/** The last login, or, if it is later, the last day on which the person used an app (without a time). */
export const LastSeen = ({ person: { last_login: login, last_used_day: day } }: Props) => {
  const isUseLater = day !== null && (login === null || day > login.toISOString().slice(0, 10));
  const loginText = login ? `Last login: ${exactTimeOf(login)}` : 'Never logged in';
  if (isUseLater)
    return (
      <time
        className={classes.muted}
        dateTime={day}
        title={`Last used an app: ${dayText(day)}. ${loginText}`}
      >
        {dayAgoOf(day)}
      </time>
    );
  if (!login) return <span className={classes.muted}>never</span>;
  return (
    <time className={classes.muted} dateTime={login.toISOString()} title={exactTimeOf(login)}>
      {agoOf(login)}
    </time>
  );
};
