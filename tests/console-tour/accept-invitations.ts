import * as assert from 'uvu/assert';
import { parseMail } from '../support/smtp-server.ts';
import { INVITED, type Invited } from './people.ts';
import type { Tour } from './tour.ts';

/** The people who accept their invitation. */
export const ACCEPTING = INVITED.slice(0, 30);
const PASSWORD = 'violet-harbor-92-kite';

/** `http://…/invitation/{key}/?signature={signature}` */
const LINK = /\/invitation\/([^/]+)\/\?signature=([\w-]+)/;

/** Accepts the invitation of a mail, as its page does. */
const accept = async ({ smtp, service }: Tour, { email, firstName, lastName }: Invited): Promise<void> => {
  const mail = smtp.taken.find(({ to }) => to.includes(email));
  const [, key, signature] = LINK.exec((mail && (await parseMail(mail)).text) ?? '') ?? [];
  const body = { signature, first_name: firstName, last_name: lastName, password: PASSWORD };
  const { status, text } = await service.send(`POST /invitations/${key}/accept/`, { body });
  assert.is(status, 200, text);
};

export const acceptInvitations = async (tour: Tour): Promise<string> => {
  for (const person of ACCEPTING) await accept(tour, person);

  const emails = new Set((await tour.read('/jb/users/')).map(({ email }) => email));
  assert.ok(ACCEPTING.every(({ email }) => emails.has(email)));
  return `${ACCEPTING.length} of them have an account`;
};
