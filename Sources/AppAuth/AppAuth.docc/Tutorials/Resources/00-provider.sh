swift run local-provider --port 8080 \
    --client my-app --user wilma:correct-horse \
    --access-token-lifetime 60
