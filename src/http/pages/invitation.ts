import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Problem } from '../../lib/problems.ts';
import { formatDate } from './display-text.ts';
import { type Html, html } from './html.ts';
import { redirectTo } from './html-document.ts';
import { type Invitation, sendPendingInvitation } from './invitation-form.ts';
import {
  attempt,
  createPageContext,
  formField,
  type PageContext,
  type PageDeps,
  queryParameter,
} from './page-context.ts';
import { mailLink, sendPage } from './page-layout.ts';
import { homeUrl } from './redirects.ts';

type InvitationRequest = FastifyRequest<{ Params: { key: string } }>;

/** `/invitation/{key}/?signature=…`: opening the link changes nothing; submitting its form accepts the invitation. */
export const serveInvitation = (app: FastifyInstance, deps: PageDeps): void => {
  app.get<{ Params: { key: string } }>('/invitation/:key/', async (request, reply) =>
    sendInvitation(createPageContext(request, reply, deps), linkOf(request)),
  );

  app.post<{ Params: { key: string } }>('/invitation/:key/', async (request, reply) => {
    const context = createPageContext(request, reply, deps);
    const link = linkOf(request);
    const { value: accepted, problem } = await context.submit((caller) =>
      caller.invitations.accept({ ...link, ...newUserInput(request) }),
    );
    return problem
      ? sendInvitation(context, link, problem)
      : redirectTo(reply, homeUrl(accepted.home_location));
  });
};

type Link = { key: string; signature: string };

const linkOf = (request: InvitationRequest): Link => ({
  key: request.params.key,
  signature: queryParameter(request, 'signature') ?? '',
});

/** Users who already have an account send no password. */
const newUserInput = (request: InvitationRequest) => {
  const password = formField(request, 'password');
  return {
    first_name: formField(request, 'first_name').trim(),
    last_name: formField(request, 'last_name').trim(),
    ...(password !== '' && { password }),
  };
};

const sendInvitation = async (context: PageContext, link: Link, problem: Problem | null = null) => {
  const { value: invitation } = await attempt(() => context.reader.invitations.preview(link));
  if (!invitation) return sendInvalidLink(context);
  if (invitation.status !== 'pending') return sendClosedInvitation(context, invitation, problem);
  return sendPendingInvitation(context, invitation, problem);
};

const sendClosedInvitation = async (
  context: PageContext,
  invitation: Invitation,
  problem: Problem | null,
) => {
  const { client_name, support_email } = invitation;
  const { title, text } = describeClosed(invitation);
  const isAccepted = invitation.status === 'accepted';
  const content = html`
<h1>${title}</h1>
<div class="card">
<p>${text}</p>
${
  isAccepted
    ? html`<p><a class="button" href="/login/">${(await context.currentUser()) ? 'Continue' : 'Log in'}</a></p>`
    : html`<p>${contactHint(support_email)}</p>`
}
</div>`;
  const brand = { client_name, support_email };
  return sendPage(context.reply, { brand, title, content }, { status: problem?.status ?? 410 });
};

const describeClosed = ({ status, client_name: client, inviter_name: inviter, ...dates }: Invitation) => {
  if (status === 'accepted') {
    const date = dates.closed_at ? ` on ${formatDate(dates.closed_at)}` : '';
    return {
      title: 'Invitation already accepted',
      text: `This invitation to ${client} was accepted${date}. There is nothing else to do.`,
    };
  }
  if (status === 'expired') {
    return {
      title: 'This invitation has expired',
      text: `It was valid until ${formatDate(dates.expires_at)}. ${inviter || client} can send you a new one.`,
    };
  }
  return {
    title: 'This invitation was revoked',
    text: `${inviter || client} or another administrator revoked it. If you think this is a mistake, contact them.`,
  };
};

const contactHint = (address: string): Html =>
  address === ''
    ? html`Contact the person who invited you.`
    : html`You can also contact ${mailLink(address)}.`;

/** The same page for an unknown key and for a wrong signature. */
const sendInvalidLink = async (context: PageContext) => {
  const branding = await context.reader.branding.get({});
  const content = html`
<h1>Invalid invitation link</h1>
<div class="card">
<p>The link may be incomplete: some email programs break long links. Copy the whole link from the email into the
address bar, or ask the person who invited you to send the invitation again.</p>
<p>${contactHint(branding.support_email)}</p>
</div>`;
  const page = { brand: branding, title: 'Invalid invitation link', content };
  return sendPage(context.reply, page, { status: 404 });
};
