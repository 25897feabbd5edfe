import type { Inputs } from '../api.ts';
import { oneOf } from '../components/search-params.ts';
import type { OpenidApp } from './use-openid.ts';

type Settings = Inputs['openid']['update'];
type Claim = NonNullable<Settings['claims']>[number];

/** What an app may get about a person, in plain words. */
export const CLAIM_LABELS: Record<Claim, string> = {
  email: 'Email address',
  email_verified: 'Whether the address is confirmed',
  name: 'Full name',
  given_name: 'First name',
  family_name: 'Last name',
  groups: 'Groups',
  roles: 'Roles in Steward',
  app_roles: 'Roles in the app',
  client: 'Client',
  data_permissions: 'Data permissions',
};

export const CLAIMS = Object.keys(CLAIM_LABELS) as Claim[]; // the keys of the record

const ALGORITHMS = ['RS256', 'ES256'] as const satisfies NonNullable<Settings['signing_algorithm']>[];

type Fields = Omit<Settings, 'app_id'>;
export type OpenidValues = { [Field in keyof Fields]-?: NonNullable<Fields[Field]> };

const NEW: OpenidValues = {
  // An empty row to fill in.
  redirect_uris: [''],
  post_logout_redirect_uris: [],
  backchannel_logout_uri: '',
  is_public: false,
  requires_pkce: true,
  claims: CLAIMS,
  is_pairwise: false,
  signing_algorithm: 'RS256',
};

/** The values of the form. @param openid undefined: not set up yet */
export const valuesOf = (openid: OpenidApp | undefined): OpenidValues =>
  openid
    ? {
        redirect_uris: openid.redirect_uris,
        post_logout_redirect_uris: openid.post_logout_redirect_uris,
        backchannel_logout_uri: openid.backchannel_logout_uri,
        is_public: openid.is_public,
        requires_pkce: openid.requires_pkce,
        claims: inOrder(openid.claims),
        is_pairwise: openid.is_pairwise,
        signing_algorithm: oneOf(openid.signing_algorithm, ALGORITHMS) ?? NEW.signing_algorithm,
      }
    : NEW;

/** So that a claim that is taken away and given back is no change. */
export const inOrder = (claims: readonly string[]): Claim[] =>
  CLAIMS.filter((claim) => claims.includes(claim));

/** Without empty rows, so that the service counts the rows as the form does when it names one of them. */
export const withoutEmptyRows = (values: OpenidValues): OpenidValues => ({
  ...values,
  redirect_uris: filled(values.redirect_uris),
  post_logout_redirect_uris: filled(values.post_logout_redirect_uris),
  backchannel_logout_uri: values.backchannel_logout_uri.trim(),
});

const filled = (addresses: readonly string[]): string[] =>
  addresses.map((address) => address.trim()).filter((address) => address !== '');
