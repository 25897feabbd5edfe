import type { Mail } from '../../adapters/smtp/smtp-mailer.ts';
import { pickDefined } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { type ClientRow, readClient } from '../clients/clients.ts';
import type { Unit } from '../unit.ts';
import type { LetterContext } from './mail-context.ts';

type Texts = Pick<
  ClientRow,
  'name' | 'default_from_email' | 'invitation_subject' | 'invitation_body' | 'support_email'
>;
type Changes = { [Column in keyof Texts]?: Texts[Column] | undefined };

export const createInvitationPreviews = ({ em, clock, mailWriter }: Unit) => ({
  /** The invitation mail of a client, with some texts replaced. @throws Problem `not-found` */
  read: async (actor: Actor, clientId: number, changes: Changes): Promise<Mail> => {
    const given = pickDefined(changes) as Partial<Texts> | null; // without those that are undefined
    const client = { ...(await readClient(em, actor, clientId)), ...given };
    const now = clock.now();
    return mailWriter.write({ ...EXAMPLE, ...client, client_name: client.name, created_at: now }, now);
  },
});

/** An invitation that does not exist. */
const EXAMPLE: Omit<LetterContext, Exclude<keyof ClientRow, 'id'> | 'created_at'> = {
  id: 0,
  kind: 'invitation',
  recipient: 'ada@example.com',
  client_name: null,
  invitation_key: 'preview',
  app_labels: [],
  first_name: null,
  request_address: null,
  password_expires_at: null,
  link_id: null,
  link_user_id: null,
  link_created_at: null,
  link_expires_at: new Date(0),
};
