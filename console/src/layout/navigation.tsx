import { NavLink } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { screensFor } from './screens.ts';
import { useSession } from './use-session.ts';

type Props = { onNavigate: () => void };

export const Navigation = ({ onNavigate }: Props) =>
  screensFor(useSession().roles).map(({ to, label }) => (
    <NavLink
      key={to}
      className="nav-link"
      renderRoot={(props) => (
        <Link {...props} to={to} activeOptions={{ exact: to === '/' }} onClick={onNavigate} />
      )}
      label={label}
    />
  ));
