import { formatDateTime, type Html, html } from '../../lib/html.ts';
import type { Problem } from '../../lib/problems.ts';
import { logoutForm } from './login.ts';
import {
  attempt,
  type Caller,
  formField,
  type PageContext,
  type Pages,
  pathParameter,
  queryParameter,
} from './page-context.ts';
import {
  enrolPath,
  formActionSources,
  homeUrl,
  localPath,
  loginPath,
  mailLink,
  redirectTo,
} from './page-layout.ts';
import { alertBox, hiddenUsername, inputField, newPasswordField } from './parts.ts';

type Invitation = Awaited<ReturnType<Caller['invitations']['preview']>>;

/** `/invitation/{key}/?signature=…`: opening the link changes nothing; its form accepts the invitation. */
export const invitationPages: Pages = {
  'GET /invitation/:key/': async (context) => sendInvitation(context),

  'POST /invitation/:key/': async (context) => {
    const input = { ...linkOf(context), ...newUserInput(context) };
    const { value: accepted, problem } = await context.submit((caller) => caller.invitations.accept(input));
    if (problem) return sendInvitation(context, problem);
    const home = homeUrl(accepted.home_location);
    return redirectTo(context.reply, accepted.needs_second_factor ? enrolPath(localPath(home)) : home);
  },
};

const linkOf = (context: PageContext) => ({
  key: pathParameter(context, 'key'),
  signature: queryParameter(context, 'signature') ?? '',
});

/** Users who already have an account send no password. */
const newUserInput = (context: PageContext) => {
  const password = formField(context, 'password');
  return {
    first_name: formField(context, 'first_name').trim(),
    last_name: formField(context, 'last_name').trim(),
    ...(password !== '' && { password }),
  };
};

const sendInvitation = async (context: PageContext, problem: Problem | null = null) => {
  const { value: invitation } = await attempt(() => context.reader.invitations.preview(linkOf(context)));
  if (!invitation) return sendInvalidLink(context);
  if (invitation.status !== 'pending') return sendClosed(context, invitation, problem);
  return sendPending(context, invitation, problem);
};

/** A pending invitation: who invites to which apps, and how to accept. */
const sendPending = async (context: PageContext, invitation: Invitation, problem: Problem | null) => {
  const { client_name, support_email, inviter_name, invitation_body, apps, invited_as } = invitation;
  const title = `You are invited to ${client_name}`;
  const content = html`
<h1>${title}</h1>
<p class="lead">${inviter_name || client_name} invited ${invitation.email}${invited_as !== '' && html` as <strong>${invited_as}</strong>`}. This invitation expires on
${formatDateTime(invitation.expires_at)}.</p>
${invitation_body !== '' && html`<blockquote class="letter">${invitation_body}</blockquote>`}
${apps.length > 0 && html`<h2>Included apps</h2><ul class="chips">${apps.map((app) => html`<li>${app}</li>`)}</ul>`}
<div class="card">
${alertBox(problem)}
${await acceptForm(context, invitation, problem)}
</div>`;
  const brand = { client_name, support_email };
  const formAction = formActionSources(homeUrl(invitation.home_location));
  return context.sendPage({ brand, title, content, problem, formAction });
};

const acceptForm = async (context: PageContext, invitation: Invitation, problem: Problem | null) => {
  const { email, needs } = invitation;
  const { url } = context.request;
  if (needs === 'activation')
    return html`<p>The account <strong>${email}</strong> has been deactivated. Ask the person who invited you to
reactivate it, then reload this page.</p>`;
  const user = await context.currentUser();
  if (needs === 'nothing')
    return html`<p>You are logged in as <strong>${email}</strong>.</p>
<form method="post" action="${url}">${context.csrfField()}<button>Accept</button></form>`;
  if (user)
    return html`<p>You are logged in as <strong>${user.email}</strong>, but this invitation is for
<strong>${email}</strong>. Log out to accept it.</p>${logoutForm(context, { next: url })}`;
  if (needs === 'login')
    return html`<p>You already have an account.</p>
<p><a class="button" href="${loginPath(url)}">Log in to accept</a></p>`;
  return newUserForm(context, invitation, problem);
};

/** Pre-filled with the names that the inviter stated. */
const newUserForm = (context: PageContext, invitation: Invitation, problem: Problem | null): Html => {
  const { email, rules, sso } = invitation;
  const { request } = context;
  const start = sso && html`<p><a class="button" href="${sso.url}">Continue with ${sso.name}</a></p>`;
  if (sso?.is_required)
    return html`<p>Your organization uses single sign-on, so you need no password here.</p>${start}`;
  const errors = problem?.fields;
  const focused = ['first_name', 'last_name', 'password'].find((name) => errors?.[name] !== undefined);
  const nameField = (name: 'first_name' | 'last_name', label: string, autocomplete: string) =>
    inputField({
      name,
      label,
      autocomplete,
      value: problem ? formField(context, name) : invitation[name],
      errors: errors?.[name],
      // Some people have only one name.
      isRequired: name === 'first_name',
      isFocused: focused === name,
    });
  return html`${start && html`${start}<p>Or choose a password:</p>`}
<form method="post" action="${request.url}">
${context.csrfField()}
${hiddenUsername(email)}
<div class="pair">
${nameField('first_name', 'First name', 'given-name')}
${nameField('last_name', 'Last name', 'family-name')}
</div>
${newPasswordField({
  name: 'password',
  label: 'Choose a password',
  rules,
  errors: errors?.password,
  isFocused: focused === 'password',
})}
<button>Accept and log in</button>
</form>`;
};

const sendClosed = async (context: PageContext, invitation: Invitation, problem: Problem | null) => {
  const { client_name, support_email } = invitation;
  const { title, text } = describeClosed(invitation);
  const isAccepted = invitation.status === 'accepted';
  const body = html`<p>${text}</p>
${
  isAccepted
    ? html`<p><a class="button" href="/login/">${(await context.currentUser()) ? 'Continue' : 'Log in'}</a></p>`
    : html`<p>${contactHint(support_email)}</p>`
}`;
  // The card names it already.
  const brand = { client_name, support_email: isAccepted ? support_email : '' };
  return context.sendCard({ brand, title, body, status: problem?.status ?? 410 });
};

const describeClosed = ({ status, client_name: client, inviter_name, closed_at, expires_at }: Invitation) => {
  const inviter = inviter_name || client;
  if (status === 'accepted')
    return {
      title: 'Invitation already accepted',
      text: `This invitation to ${client} was accepted${closed_at ? ` on ${formatDateTime(closed_at)}` : ''}. There is nothing else to do.`,
    };
  if (status === 'expired')
    return {
      title: 'This invitation has expired',
      text: `It was valid until ${formatDateTime(expires_at)}. ${inviter} can send you a new one.`,
    };
  return {
    title: 'This invitation was revoked',
    text: `${inviter} or another administrator revoked it. If you think this is a mistake, contact them.`,
  };
};

const contactHint = (address: string): Html =>
  address === ''
    ? html`Contact the person who invited you.`
    : html`You can also contact ${mailLink(address)}.`;

/** The same page for an unknown key and for a wrong signature. */
const sendInvalidLink = async (context: PageContext) => {
  const { client_name, support_email } = await context.getBranding();
  return context.sendCard({
    brand: { client_name, support_email: '' },
    title: 'Invalid invitation link',
    status: 404,
    body: html`<p>The link may be incomplete: some email programs break long links. Copy the whole link from the email into the
address bar, or ask the person who invited you to send the invitation again.</p>
<p>${contactHint(support_email)}</p>`,
  });
};
