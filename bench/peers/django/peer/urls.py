from django.urls import path

from . import views

urlpatterns = [
    path('healthz', views.health),
    path('api/v1/jb/users/', views.UserList.as_view()),
    path('api/v1/jb/users/invitations/', views.Invitations.as_view()),
    path('api/v1/jb/users/<str:email>/', views.OneUser.as_view()),
    path('api/v1/jb/apps/', views.AppList.as_view()),
    path('api/v1/jb/apps/<str:app_id>/usage/', views.AppUsage.as_view()),
    path('api/v1/api-token-auth/', views.Login.as_view()),
]
