import type { Problem } from '../../lib/problems.ts';
import { alertBox, firstFault, inputField, newPasswordField, usernameForManagers } from './fields.ts';
import { fieldOf } from './form-body.ts';
import { type Html, html } from './html.ts';
import type { Invitation } from './invitation.ts';
import { logoutForm } from './logout.ts';
import { dayOf, sentenceOf } from './messages.ts';
import type { Visit } from './page-context.ts';
import { rulesToShow } from './password-rules.ts';
import { formTargets, homeOf, loginPath } from './redirects.ts';
import { sendPage } from './send-page.ts';

/** An open invitation: who invites to what, and what it takes to accept. */
export const sendInvitation = async (visit: Visit, invitation: Invitation, problem: Problem | null) => {
  const { client_name, support_email, inviter_name, invitation_body, apps } = invitation;
  const title = `You are invited to ${client_name}`;
  const content = html`
<h1>${title}</h1>
<p class="lead">${inviter_name || client_name} invites ${invitation.email}. The invitation is open until
${dayOf(invitation.expires_at)}.</p>
${invitation_body !== '' && html`<blockquote class="letter">${invitation_body}</blockquote>`}
${apps.length > 0 && html`<h2>What you get</h2><ul class="chips">${apps.map((app) => html`<li>${app}</li>`)}</ul>`}
<div class="card">
${alertBox(problem && sentenceOf(problem))}
${await acceptance(visit, invitation, problem)}
</div>`;
  const page = { brand: { client_name, support_email }, title, content };
  return sendPage(visit.reply, page, { problem, targets: formTargets(homeOf(invitation.home_location)) });
};

const acceptance = async (visit: Visit, invitation: Invitation, problem: Problem | null): Promise<Html> => {
  const { email, needs } = invitation;
  const here = visit.request.url;
  if (needs === 'activation') {
    return html`<p>The account of <strong>${email}</strong> has been deactivated. Whoever invited you can see to it that
you get it back; then open this page again.</p>`;
  }
  const user = await visit.user();
  if (needs === 'nothing') {
    return html`<p>You are logged in as <strong>${email}</strong>.</p>
<form method="post" action="${here}">${visit.csrfField()}<button>Accept</button></form>`;
  }
  if (user) {
    return html`<p>You are logged in as <strong>${user.email}</strong>, and this invitation is for
<strong>${email}</strong>. Log out to accept it.</p>${logoutForm(visit, { next: here })}`;
  }
  if (needs === 'login') {
    return html`<p>You have an account here already.</p>
<p><a class="button" href="${loginPath(here)}">Log in to accept</a></p>`;
  }
  return newcomerForm(visit, invitation, problem);
};

const newcomerForm = (visit: Visit, { email, rules }: Invitation, problem: Problem | null): Html => {
  const { request } = visit;
  const fields = problem?.fields;
  const focus = firstFault(fields, ['first_name', 'last_name', 'password']);
  const nameField = (name: string, label: string, autocomplete: string) =>
    inputField({
      name,
      label,
      autocomplete,
      value: fieldOf(request, name),
      errors: fields?.[name],
      // Some people have one name only.
      isRequired: name === 'first_name',
      isFocused: focus === name,
    });
  return html`<form method="post" action="${request.url}">
${visit.csrfField()}
${usernameForManagers(email)}
<div class="pair">
${nameField('first_name', 'First name', 'given-name')}
${nameField('last_name', 'Last name', 'family-name')}
</div>
${newPasswordField({
  name: 'password',
  label: 'Choose a password',
  rules: rulesToShow(rules),
  errors: fields?.password,
  isFocused: focus === 'password',
})}
<button>Accept and log in</button>
</form>`;
};
