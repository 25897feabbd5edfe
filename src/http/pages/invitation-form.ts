import type { Problem } from '../../lib/problems.ts';
import { formatDate, userMessage } from './display-text.ts';
import { alertBox, firstInvalidField, hiddenUsername, inputField, newPasswordField } from './fields.ts';
import { type Html, html } from './html.ts';
import { logoutForm } from './login-forms.ts';
import { type Caller, formField, type PageContext } from './page-context.ts';
import { sendPage } from './page-layout.ts';
import { formActionSources, homeUrl, loginPath } from './redirects.ts';

export type Invitation = Awaited<ReturnType<Caller['invitations']['preview']>>;

/** A pending invitation: who invites to what, and how to accept. */
export const sendPendingInvitation = async (
  context: PageContext,
  invitation: Invitation,
  problem: Problem | null,
) => {
  const { client_name, support_email, inviter_name, invitation_body, apps } = invitation;
  const title = `You are invited to ${client_name}`;
  const content = html`
<h1>${title}</h1>
<p class="lead">${inviter_name || client_name} invited ${invitation.email}. This invitation expires on
${formatDate(invitation.expires_at)}.</p>
${invitation_body !== '' && html`<blockquote class="letter">${invitation_body}</blockquote>`}
${apps.length > 0 && html`<h2>Included apps</h2><ul class="chips">${apps.map((app) => html`<li>${app}</li>`)}</ul>`}
<div class="card">
${alertBox(problem && userMessage(problem))}
${await acceptForm(context, invitation, problem)}
</div>`;
  const page = { brand: { client_name, support_email }, title, content };
  const formAction = formActionSources(homeUrl(invitation.home_location));
  return sendPage(context.reply, page, { problem, formAction });
};

const acceptForm = async (
  context: PageContext,
  invitation: Invitation,
  problem: Problem | null,
): Promise<Html> => {
  const { email, needs } = invitation;
  const { url } = context.request;
  if (needs === 'activation') {
    return html`<p>The account <strong>${email}</strong> has been deactivated. Ask the person who invited you to
reactivate it, then reload this page.</p>`;
  }
  const user = await context.currentUser();
  if (needs === 'nothing') {
    return html`<p>You are logged in as <strong>${email}</strong>.</p>
<form method="post" action="${url}">${context.csrfField()}<button>Accept</button></form>`;
  }
  if (user) {
    return html`<p>You are logged in as <strong>${user.email}</strong>, but this invitation is for
<strong>${email}</strong>. Log out to accept it.</p>${logoutForm(context, { next: url })}`;
  }
  if (needs === 'login') {
    return html`<p>You already have an account.</p>
<p><a class="button" href="${loginPath(url)}">Log in to accept</a></p>`;
  }
  return newUserForm(context, invitation, problem);
};

const newUserForm = (context: PageContext, { email, rules }: Invitation, problem: Problem | null): Html => {
  const { request } = context;
  const fields = problem?.fields;
  const focused = firstInvalidField(fields, ['first_name', 'last_name', 'password']);
  const nameField = (name: string, label: string, autocomplete: string) =>
    inputField({
      name,
      label,
      autocomplete,
      value: formField(request, name),
      errors: fields?.[name],
      // Some people have one name only.
      isRequired: name === 'first_name',
      isFocused: focused === name,
    });
  return html`<form method="post" action="${request.url}">
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
  errors: fields?.password,
  isFocused: focused === 'password',
})}
<button>Accept and log in</button>
</form>`;
};
