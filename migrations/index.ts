import { ClientsAndUsers } from './0001-clients-and-users.ts';
import { Apps } from './0002-apps.ts';
import { Auth } from './0003-auth.ts';
import { InvitationsAndMail } from './0004-invitations-and-mail.ts';
import { Usage } from './0005-usage.ts';
import { Audit } from './0006-audit.ts';
import { Erasures } from './0007-erasures.ts';
import { MailTraceContext } from './0008-mail-trace-context.ts';
import { Backups } from './0009-backups.ts';

/** In execution order. Names are stored in the database: never rename a released migration. */
export const migrations = [
  { name: '0001-clients-and-users', class: ClientsAndUsers },
  { name: '0002-apps', class: Apps },
  { name: '0003-auth', class: Auth },
  { name: '0004-invitations-and-mail', class: InvitationsAndMail },
  { name: '0005-usage', class: Usage },
  { name: '0006-audit', class: Audit },
  { name: '0007-erasures', class: Erasures },
  { name: '0008-mail-trace-context', class: MailTraceContext },
  { name: '0009-backups', class: Backups },
];
