import type { Problem } from '../../lib/problems.ts';
import { type Html, html } from './html.ts';
import type { Invitation } from './invitation.ts';
import { mailLink } from './layout.ts';
import { dayOf } from './messages.ts';
import type { Visit } from './page-context.ts';
import { sendPage } from './send-page.ts';

const GONE = 410;
const NOT_FOUND = 404;

/** What has become of an invitation that can no longer be accepted, and what to do about it. */
export const sendClosed = async (visit: Visit, invitation: Invitation, problem: Problem | null) => {
  const { client_name, support_email } = invitation;
  const { title, words } = storyOf(invitation);
  const isAccepted = invitation.status === 'accepted';
  const content = html`
<h1>${title}</h1>
<div class="card">
<p>${words}</p>
${
  isAccepted
    ? html`<p><a class="button" href="/login/">${(await visit.user()) ? 'Go on' : 'Log in'}</a></p>`
    : html`<p>${helpAt(support_email)}</p>`
}
</div>`;
  const brand = { client_name, support_email };
  return sendPage(visit.reply, { brand, title, content }, { status: problem?.status ?? GONE });
};

const storyOf = ({ status, client_name: name, inviter_name: inviter, ...dates }: Invitation) => {
  if (status === 'accepted') {
    const when = dates.closed_at ? ` on ${dayOf(dates.closed_at)}` : '';
    return {
      title: 'You are in already',
      words: `This invitation to ${name} was accepted${when}. There is nothing more to do.`,
    };
  }
  if (status === 'expired') {
    return {
      title: 'This invitation has expired',
      words: `It was open until ${dayOf(dates.expires_at)}. ${inviter || name} can send you a new one.`,
    };
  }
  return {
    title: 'This invitation was taken back',
    words: `${inviter || name} or a colleague no longer offers it. If that surprises you, ask them.`,
  };
};

const helpAt = (address: string): Html =>
  address === '' ? html`Whoever invited you can help.` : html`You can also write to ${mailLink(address)}.`;

/** The same for a key that never was and for a link that was cut short or made up. */
export const sendUnknown = async (visit: Visit) => {
  const branding = await visit.reader.branding.get({});
  const content = html`
<h1>This link is not complete</h1>
<div class="card">
<p>We cannot find an invitation for it. Some mail programs break long links in two: please copy the whole line
from the mail into the address bar, or ask whoever invited you to send the invitation again.</p>
<p>${helpAt(branding.support_email)}</p>
</div>`;
  const page = { brand: branding, title: 'This link is not complete', content };
  return sendPage(visit.reply, page, { status: NOT_FOUND });
};
