baseline=
if [ -f mayhap-baseline.json ]; then baseline="--baseline mayhap-baseline.json"; fi
mayhap corpus --merge stores/* --save mayhap.json --sarif mayhap.sarif --junit mayhap.xml --html mayhap.html $baseline || test $? = 3
