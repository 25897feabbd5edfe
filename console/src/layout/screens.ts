import type { LinkProps } from '@tanstack/react-router';
import { canAdminister, canView, type Roles } from './use-session.ts';

type Screen = { to: NonNullable<LinkProps['to']>; label: string; isFor: (roles: Roles) => boolean };

const everyone = (): boolean => true;

/** The screens of the navigation, in its order. */
const SCREENS: Screen[] = [
  { to: '/', label: 'Home', isFor: everyone },
  { to: '/people', label: 'People', isFor: canView },
  { to: '/access', label: 'Access', isFor: canAdminister },
  { to: '/apps', label: 'Apps', isFor: canView },
  { to: '/usage', label: 'Usage', isFor: canView },
  { to: '/clients', label: 'Clients', isFor: canView },
  { to: '/invite', label: 'Invite', isFor: canAdminister },
  { to: '/invitations', label: 'Invitations', isFor: canView },
  { to: '/mails', label: 'Mails', isFor: canView },
  { to: '/audit', label: 'Audit trail', isFor: canAdminister },
  { to: '/account', label: 'Account', isFor: everyone },
];

export const screensFor = (roles: Roles): Screen[] => SCREENS.filter(({ isFor }) => isFor(roles));
