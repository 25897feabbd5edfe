import { useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { AddressNotice } from '../app/address-notice.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { AccessViewsTab } from './access-views-tab.tsx';

const route = getRouteApi('/apps/$id/views');

export const AccessViewsScreen = () => {
  const { id } = route.useParams();
  const { data: app } = useSuspenseQuery(trpc.apps.get.queryOptions({ app_id: id }));
  return (
    <>
      <ScreenHeader
        title={`Share links of ${app.label}`}
        lead={
          <>
            Links that open the app without a login.{' '}
            <Link className="text-link" to="/apps/$id" params={{ id }}>
              Back to the app
            </Link>
          </>
        }
      />
      <AddressNotice id={app.id} />
      <AccessViewsTab app={app} />
    </>
  );
};
