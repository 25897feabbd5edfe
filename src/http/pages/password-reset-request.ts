import type { Problem } from '../../lib/problems.ts';
import { alertBox, inputField } from './fields.ts';
import { html } from './html.ts';
import { sentenceOf } from './messages.ts';
import type { Visit } from './page-context.ts';
import { sendPage } from './send-page.ts';

type Failure = { email: string; problem: Problem };

/** Asks for the address of a forgotten password, also in place of a link that is dead. */
export const sendAskForLink = async (visit: Visit, failure?: Failure) => {
  const { problem = null, email = '' } = failure ?? {};
  const isDead = problem?.code === 'invalid-link';
  const title = isDead ? 'This link no longer works' : 'Forgot your password?';
  const content = html`
<h1>${title}</h1>
<p class="lead">${
    isDead
      ? 'It may have been used already, or it has become too old. We are happy to send you a new one.'
      : 'It happens. Tell us your email address, and we send you a link to choose a new one.'
  }</p>
<form class="card" method="post" action="/password/reset/">
${alertBox(problem && !isDead ? sentenceOf(problem) : null)}
${visit.csrfField()}
${inputField({
  name: 'email',
  label: 'Email address',
  type: 'email',
  autocomplete: 'username',
  value: email,
  errors: problem?.fields?.email,
  isFocused: true,
})}
<button>Send me a link</button>
<p class="aside"><a href="/login/">Back to the login</a></p>
</form>`;
  const brand = await visit.reader.branding.get({});
  return sendPage(visit.reply, { brand, title, content }, { problem });
};

/** The same for every address, so that nobody learns here who has an account. */
export const sendLinkIsOnItsWay = async (visit: Visit, email: string) => {
  const content = html`
<h1>Look into your mailbox</h1>
<div class="card">
<p>If <strong>${email}</strong> has an account, a mail is on its way. The link in it works once, and for an
hour.</p>
<p>Nothing there after some minutes? Look among the unwanted mail, or
<a href="/password/reset/">try another address</a>.</p>
<p class="aside"><a href="/login/">Back to the login</a></p>
</div>`;
  const brand = await visit.reader.branding.get({});
  return sendPage(visit.reply, { brand, title: 'Look into your mailbox', content });
};
