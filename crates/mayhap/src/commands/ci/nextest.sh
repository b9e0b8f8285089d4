mayhap cargo nextest run -o traces || echo "some tests failed"
# Recordings become traces, which need the program no more.
find traces -name '*.mhp' -exec mayhap stats {} ';' > traces.txt
