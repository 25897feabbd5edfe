import { Badge } from '@mantine/core';
import { capitalized } from '../components/capitalized.ts';
import { type Role, roleLabel } from '../session/roles.ts';

export const RoleBadges = ({ roles }: { roles: readonly Role[] }) =>
  roles.map((role) => (
    <Badge key={role.name} variant="default" tt="none">
      {capitalized(roleLabel(role))}
    </Badge>
  ));
