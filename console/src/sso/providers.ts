import type { Inputs, Outputs } from '../api.ts';

export type Connection = Outputs['sso']['list'][number];
type Fields = Omit<Inputs['sso']['create'], 'id'>;
type Address =
  | 'redirect_uri'
  | 'post_logout_redirect_uri'
  | 'backchannel_logout_uri'
  | 'frontchannel_logout_uri'
  | 'initiate_login_uri';

/** How a client is connected to an identity provider of this kind. */
export type Provider = {
  name: string;
  /** Below the name in the choice. */
  lead: string;
  /** What the set-up fills in, besides what the admin of the client enters. */
  presets: Partial<Fields>;
  /** The addresses to enter there, by the names that the provider has for them. */
  addresses: readonly (readonly [Address, string])[];
  /** What the admin of the provider does there, in its own words. */
  steps: readonly string[];
  /** What to enter in order to name the organization there, and the fields of the connection that follow from it. */
  place: {
    label: string;
    description: string;
    placeholder: string;
    fieldsOf: (text: string) => Partial<Fields>;
    textOf: (connection: Connection) => string;
  };
  /** What the provider calls these values. */
  labels: { id: string; secret: string };
  /** Whether a connection with this issuer is of this kind. */
  matches: (issuer: string) => boolean;
};

const GOOGLE = 'https://accounts.google.com';
const ENTRA = 'https://login.microsoftonline.com/';

const isUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/** Without the scheme and the path of an address that was pasted whole. */
const hostOf = (text: string): string =>
  text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/.*$/, '');

const byIssuer = (label: string, description: string, placeholder: string): Provider['place'] => ({
  label,
  description,
  placeholder,
  fieldsOf: (issuer) => ({ issuer: issuer.trim() }),
  textOf: ({ issuer }) => issuer,
});

const ENTRA_ID: Provider = {
  name: 'Microsoft Entra ID',
  lead: 'Microsoft 365 and Azure. Formerly Azure Active Directory.',
  // The tenant proves the domain of this claim. Anyone can enter another email address.
  presets: { email_claim: 'preferred_username', groups_claim: 'groups' },
  addresses: [
    ['redirect_uri', 'Redirect URI'],
    ['frontchannel_logout_uri', 'Front-channel logout URL'],
  ],
  steps: [
    'Open the Microsoft Entra admin center, then “App registrations” and “New registration”.',
    'Choose “Accounts in this organizational directory only”. Under “Redirect URI”, choose “Web”, and paste the redirect URI. Register.',
    'Under “Authentication”, paste the front-channel logout URL.',
    'Under “Certificates & secrets”, choose “New client secret”, and copy its value: it is shown once.',
    'Optional, for groups: under “Token configuration”, choose “Add groups claim”.',
    'On “Overview”, copy the application (client) ID and the directory (tenant) ID.',
  ],
  place: {
    label: 'Directory (tenant) ID',
    description: 'On the overview of the app registration.',
    placeholder: '8f2c1b7e-0d3a-4c55-9a51-3c0e6f1d2b47',
    fieldsOf: (text) => ({ issuer: isUrl(text.trim()) ? text.trim() : `${ENTRA}${text.trim()}/v2.0` }),
    textOf: ({ issuer }) =>
      /^https:\/\/login\.microsoftonline\.com\/([^/]+)\/v2\.0$/.exec(issuer)?.[1] ?? issuer,
  },
  labels: { id: 'Application (client) ID', secret: 'Client secret' },
  matches: (issuer) => issuer.startsWith(ENTRA),
};

const GOOGLE_WORKSPACE: Provider = {
  name: 'Google Workspace',
  lead: 'Accounts of your organization at Google. Without groups.',
  presets: { issuer: GOOGLE, required_claim: 'hd' },
  addresses: [['redirect_uri', 'Authorized redirect URI']],
  steps: [
    'Open the Google Cloud console, and choose or create a project of your organization.',
    'Under “Google Auth Platform”, choose “Get started”, and “Internal” as the audience.',
    'Under “Clients”, choose “Create client”, with the type “Web application”.',
    'Under “Authorized redirect URIs”, choose “Add URI”, and paste the address. Create.',
    'Copy the client ID and the client secret.',
  ],
  place: {
    label: 'Domain of your organization at Google',
    description: 'Accounts of other organizations and private accounts are refused.',
    placeholder: 'acme.com',
    fieldsOf: (text) => ({ required_value: hostOf(text).toLowerCase() }),
    textOf: ({ required_value: domain }) => domain,
  },
  labels: { id: 'Client ID', secret: 'Client secret' },
  matches: (issuer) => issuer.replace(/\/$/, '') === GOOGLE,
};

const OKTA: Provider = {
  name: 'Okta',
  lead: 'Workforce Identity.',
  presets: { scopes: 'openid email profile groups', groups_claim: 'groups' },
  addresses: [
    ['redirect_uri', 'Sign-in redirect URI'],
    ['post_logout_redirect_uri', 'Sign-out redirect URI'],
    ['initiate_login_uri', 'Initiate login URI'],
  ],
  steps: [
    'Open the Okta Admin Console, then “Applications” and “Create App Integration”.',
    'Choose “OIDC - OpenID Connect” and “Web Application”.',
    'Paste the sign-in and the sign-out redirect URI. Under “Assignments”, choose who may log in. Save.',
    'Optional, for a tile on the dashboard: under “General Settings”, edit “Login”, and paste the initiate login URI.',
    'Optional, for groups: under “Sign On”, edit “OpenID Connect ID Token”. Set the groups claim filter to “groups”, “Matches regex”, “.*”.',
    'On the tab “General”, copy the client ID and the client secret.',
  ],
  place: {
    label: 'Okta domain',
    description: 'In the menu of your account, at the top right of the Admin Console.',
    placeholder: 'acme.okta.com',
    fieldsOf: (text) => ({ issuer: isUrl(text.trim()) ? text.trim() : `https://${hostOf(text)}` }),
    textOf: ({ issuer }) => issuer.replace(/^https:\/\//, ''),
  },
  labels: { id: 'Client ID', secret: 'Client secret' },
  matches: (issuer) => /^https:\/\/[^/]+\.okta(-emea|preview)?\.com(\/|$)/.test(issuer),
};

const KEYCLOAK: Provider = {
  name: 'Keycloak',
  lead: 'A realm on a server of your own.',
  presets: { groups_claim: 'groups' },
  addresses: [
    ['redirect_uri', 'Valid redirect URIs'],
    ['post_logout_redirect_uri', 'Valid post logout redirect URIs'],
    ['backchannel_logout_uri', 'Backchannel logout URL'],
    ['initiate_login_uri', 'Home URL'],
  ],
  steps: [
    'Open the realm in the admin console, then “Clients” and “Create client”. Choose “OpenID Connect”, and a client ID such as steward.',
    'Turn “Client authentication” on, and leave only “Standard flow” checked.',
    'Paste the home URL, and the valid redirect and post logout redirect URIs. Save.',
    'Under “Logout settings”, turn “Front channel logout” off, and paste the backchannel logout URL.',
    'Optional, for groups: under “Client scopes”, open the dedicated scope of the client. Add the mapper “Group Membership” with the token claim name “groups”, and turn “Full group path” off.',
    'On the tab “Credentials”, copy the client secret.',
  ],
  place: byIssuer(
    'Address of the realm',
    'The address of Keycloak, then /realms/ and the name of the realm.',
    'https://login.acme.com/realms/acme',
  ),
  labels: { id: 'Client ID', secret: 'Client secret' },
  matches: (issuer) => /\/realms\/[^/]+\/?$/.test(issuer),
};

const OTHER: Provider = {
  name: 'Other provider',
  lead: 'Any that speaks OpenID Connect, such as Auth0, LemonLDAP::NG or Ping.',
  presets: {},
  addresses: [
    ['redirect_uri', 'Redirect URI'],
    ['post_logout_redirect_uri', 'Post-logout redirect URI'],
    ['backchannel_logout_uri', 'Back-channel logout URI'],
    ['frontchannel_logout_uri', 'Front-channel logout URI'],
    ['initiate_login_uri', 'Sign-in URI'],
  ],
  steps: [
    'Register a confidential client for OpenID Connect with the authorization code flow. Some providers call it a web application.',
    'Paste the redirect URI. The other addresses are optional: they pass on logouts, and start a login from a menu of the provider.',
    'Let the client read the scopes openid, email and profile.',
    'Copy the issuer, the client ID and the client secret.',
  ],
  place: byIssuer(
    'Issuer',
    'The address before /.well-known/openid-configuration.',
    'https://login.acme.com',
  ),
  labels: { id: 'Client ID', secret: 'Client secret' },
  matches: () => false,
};

export const PROVIDERS: readonly Provider[] = [ENTRA_ID, GOOGLE_WORKSPACE, OKTA, KEYCLOAK, OTHER];

/** A connection without an issuer has the name of its provider: the set-up asks for another one together with the issuer. */
export const providerOf = ({ name, issuer }: Connection): Provider =>
  PROVIDERS.find(({ matches }) => matches(issuer)) ?? PROVIDERS.find((one) => one.name === name) ?? OTHER;

/** What is left to do in the set-up of a connection; null if it can be turned on. */
export const unfinishedOf = (connection: Connection): 'values' | 'test' | null => {
  if (connection.issuer === '' || connection.client_id === '') return 'values';
  return connection.tested_at === null ? 'test' : null;
};
